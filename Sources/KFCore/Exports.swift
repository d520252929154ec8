// A user of the library speaks of images, processors and expirations: one import is to be enough.
@_exported import KFImaging
@_exported import KFStorage
