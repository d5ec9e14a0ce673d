"""The features of the polynomial kernel, written out.

A kernel is an inner product of features, k(x, z) = φ(x)·φ(z), that are usually never computed. For the polynomial
kernel we can compute them, and look at them. Run me: python examples/explicit_map.py
"""

import numpy as np

from onkel.features import EigenMap, PolynomialMap
from onkel.kernels import Polynomial

np.set_printoptions(precision=4, suppress=True)


def show(title, matrix):
    print(f"\n{title}\n{np.round(matrix, 4) + 0.0}")  # + 0.0 makes -0 a 0


# Three points in the plane. A linear model depends on them only through their inner products.
X = np.array([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]])
dot = X @ X.T
show("x·z", dot)

# Lecture notes often introduce second-order features like this:


def phi(x1, x2):
    return [1.0, x1, x2, np.sqrt(2) * x1 * x2, x1**2, x2**2]


Phi = np.array([phi(*x) for x in X])
show("φ(x) of the notes", Phi)

# With the √2 the last three terms add up to (x·z)². The whole inner product is 1 + x·z + (x·z)²: a valid kernel, since
# it has a feature map, but not the polynomial kernel (1 + x·z)² that the notes usually give for it.
show("φ(x)·φ(z) = 1 + x·z + (x·z)²", Phi @ Phi.T)
assert np.allclose(Phi @ Phi.T, 1 + dot + dot**2)

show("(1 + x·z)², the polynomial kernel of degree 2", Polynomial(degree=2)(X))

# (1 + x·z)² = 1 + 2 x·z + (x·z)²: the linear terms count twice, so they need a √2 as well.
# PolynomialMap finds such coefficients for any degree, gamma and coef0.
H = PolynomialMap(degree=2)
HX = H.fit_transform(X)
print("\nH(x), the columns with their coefficients")
for name, coefficient, column in zip(H.get_feature_names_out(), H.coefficients_, HX.T, strict=True):
    print(f"  {coefficient:.4f} · {name:6}", column)

show("H(x)·H(z) = (1 + x·z)²", HX @ HX.T)
assert np.allclose(HX @ HX.T, Polynomial(degree=2)(X))

# So a linear model on H(x) and a kernel model with Polynomial(degree=2) are the same model. Why use kernels, then?
# Because the number of features grows with the degree, but the cost of the kernel does not:
print("\ncolumns of H for 10 features, by degree, where the kernel takes 10 multiplications at any:")
for degree in range(1, 7):
    print(f"  {degree}: {len(PolynomialMap(degree=degree).fit(np.zeros((1, 10))).coefficients_):5}")

# Even so, n points span at most n dimensions of such a space, and EigenMap finds them for any valid kernel: three
# columns instead of six, with the same inner products between our three points.
Phi = EigenMap(Polynomial(degree=2)).fit_transform(X)
show("eigen features of the three points under (1 + x·z)²", Phi)
show("their inner products, once more (1 + x·z)²", Phi @ Phi.T)
assert np.allclose(Phi @ Phi.T, HX @ HX.T)
