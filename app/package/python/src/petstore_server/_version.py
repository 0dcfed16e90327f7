"""The version of the package, which is that of the server in it."""

from importlib.metadata import version

__version__ = version("petstore-server")
