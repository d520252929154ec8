import Foundation
import KFCore

extension KingfisherError: LocalizedError {
    /// The message, and the code in brackets.
    public var errorDescription: String? { "\(message) [\(errorCode)]" }
}
