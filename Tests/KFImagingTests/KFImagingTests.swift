import Testing

@testable import KFImaging
