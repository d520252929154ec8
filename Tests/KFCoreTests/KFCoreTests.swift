import Testing

@testable import KFCore
