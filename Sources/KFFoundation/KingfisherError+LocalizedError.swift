import Foundation
import KFCore

extension KingfisherError: LocalizedError {
    /// The message followed by the code in brackets.
    public var errorDescription: String? { "\(message) [\(errorCode)]" }
}
