import Testing

@testable import KFNetwork
