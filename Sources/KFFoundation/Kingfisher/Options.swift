import Foundation
import KFCore

// Kingfisher's options that have no effect here. They are unavailable, so that a program does not rely on them.
//
// The compiler refuses every call, so that no body runs: `fatalError` stands where a value would be returned.

extension KingfisherOptionsInfoItem {
    @available(*, unavailable, message: "there are no views here")
    public static func transition(_ transition: ImageTransition) -> KingfisherOptionsInfoItem { fatalError() }

    @available(*, unavailable, message: "there are no views here")
    public static var forceTransition: KingfisherOptionsInfoItem { fatalError() }

    @available(*, unavailable, message: "there are no views here")
    public static var keepCurrentImageWhileLoading: KingfisherOptionsInfoItem { fatalError() }

    @available(*, unavailable, message: "images are always decoded on threads of the library")
    public static var backgroundDecode: KingfisherOptionsInfoItem { fatalError() }

    @available(*, unavailable, message: "images are always processed on threads of the library, one per core")
    public static func processingQueue(_ queue: CallbackQueue) -> KingfisherOptionsInfoItem { fatalError() }

    @available(*, unavailable, message: "files are always read on threads of the library")
    public static var loadDiskFileSynchronously: KingfisherOptionsInfoItem { fatalError() }

    @available(*, unavailable, message: "the cache is always looked up on threads of the library")
    public static var asyncCacheTypeCheck: KingfisherOptionsInfoItem { fatalError() }

    @available(*, unavailable, message: "all frames of an animation are decoded; .onlyLoadFirstFrame decodes one")
    public static var preloadAllAnimationData: KingfisherOptionsInfoItem { fatalError() }

    @available(*, unavailable, message: "set ImageCache.Configuration.synchronizes to wait until bytes are on the disk")
    public static func diskStoreWriteOptions(_ options: Data.WritingOptions) -> KingfisherOptionsInfoItem {
        fatalError()
    }

    @available(*, unavailable, message: "a server has no low data mode; .alternativeSources are tried after a failure")
    public static func lowDataMode(_ source: Source?) -> KingfisherOptionsInfoItem { fatalError() }

    @available(*, unavailable, message: "the extension of a cached file follows from its content")
    public static func forcedCacheFileExtension(_ fileExtension: String?) -> KingfisherOptionsInfoItem { fatalError() }

    @available(*, unavailable, message: "the option is a closure here: .progressiveJPEG { image in … }")
    public static func progressiveJPEG(_ progressive: ImageProgressive) -> KingfisherOptionsInfoItem { fatalError() }
}

@available(*, unavailable, message: "the option is a closure here: .progressiveJPEG { image in … }")
public struct ImageProgressive {
    public static var `default`: ImageProgressive { fatalError() }
    public init(isBlur: Bool, isFastestScan: Bool, scanInterval: TimeInterval) {}
}

extension CallbackQueue {
    @available(*, unavailable, message: "use .dispatch(queue) with a DispatchQueue")
    public static func operationQueue(_ queue: OperationQueue) -> CallbackQueue { fatalError() }
}
