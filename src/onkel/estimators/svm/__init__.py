"""Support vector machines that see all the data at once: SVC, SVR and OneClassSVM."""
