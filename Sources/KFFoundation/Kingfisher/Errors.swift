import Foundation
import KFCore
import KFTerms

// What Kingfisher's errors have and these do not, or under another name.
//
// The compiler refuses every call, so that no body runs: `fatalError` stands where a value would be returned.

extension KingfisherError {
    @available(*, unavailable, renamed: "sourceError(reason:)")
    public static func imageSettingError(reason: SourceErrorReason) -> KingfisherError { fatalError() }

    @available(*, unavailable, renamed: "SourceErrorReason")
    public typealias ImageSettingErrorReason = SourceErrorReason

    @available(*, unavailable, message: "there are no views here, so that a result always belongs to its call")
    public var isNotCurrentTask: Bool { false }

    @available(*, unavailable, message: "a server has no low data mode")
    public var isLowDataModeConstrained: Bool { false }

    @available(*, unavailable, message: "errors are KingfisherError; errorCode and reasonName tell them apart")
    public static var domain: String { "" }

    @available(*, unavailable, message: "the case of the error has its details")
    public var errorUserInfo: [String: Any] { [:] }
}

extension KingfisherError.ResponseErrorReason {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    @available(*, unavailable, message: "it is transferError(_:detail:isTransient:) here")
    public static func URLSessionError(error: any Error) -> Self { fatalError() }
}
