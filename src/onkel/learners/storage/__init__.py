"""Where learners keep their support vectors: growing, in slots that are used again, and kernel values that are kept."""
