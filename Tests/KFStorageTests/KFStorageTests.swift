import Testing

@testable import KFStorage
