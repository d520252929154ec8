import Foundation
import KFCore
import KFImaging
import KFTerms

// Kingfisher's names for views. There are none here; the messages say what retrieves the image.
//
// The compiler refuses every call, so that no body runs: `fatalError` stands where a value would be returned.

extension KF {
    @available(*, unavailable, renamed: "ImageResource")
    public typealias ImageResource = KFCore.ImageResource
}

/// Kingfisher's builders of calls that set the image of a view.
public enum KF {
    @available(*, unavailable, message: "there are no views here: await KingfisherManager.retrieveImage(with: url)")
    public static func url(_ url: URL?, cacheKey: String? = nil) -> Builder { fatalError() }

    @available(*, unavailable, message: "there are no views here: await KingfisherManager.retrieveImage(with: source)")
    public static func source(_ source: Source?) -> Builder { fatalError() }

    @available(
        *, unavailable, message: "there are no views here: await KingfisherManager.retrieveImage(with: resource)"
    )
    public static func resource(_ resource: (any Resource)?) -> Builder { fatalError() }

    @available(
        *, unavailable, message: "there are no views here: await KingfisherManager.retrieveImage(with: .provider(…))"
    )
    public static func dataProvider(_ provider: (any ImageDataProvider)?) -> Builder { fatalError() }

    @available(
        *, unavailable,
        message:
            "there are no views here: await KingfisherManager.retrieveImage(with: .provider(RawImageDataProvider(…)))"
    )
    public static func data(_ data: Data?, cacheKey: String) -> Builder { fatalError() }

    @available(*, unavailable, message: "the options of a call are a list, such as [.forceRefresh]")
    public final class Builder {}
}

@available(*, unavailable, message: "the options of a call are a list, such as [.forceRefresh]")
extension KF.Builder {
    public func set(to view: Any) {}
    public func placeholder(_ placeholder: Any?) -> Self { self }
    public func onProgress(_ block: ProgressHandler?) -> Self { self }
    public func onSuccess(_ block: ((RetrieveImageResult) -> Void)?) -> Self { self }
    public func onFailure(_ block: ((KingfisherError) -> Void)?) -> Self { self }
    public func onFailureImage(_ image: Image?) -> Self { self }
    public func fade(duration: TimeInterval) -> Self { self }
    public func setProcessor(_ processor: any ImageProcessor) -> Self { self }
    public func appendProcessor(_ processor: any ImageProcessor) -> Self { self }
    public func serialize(by serializer: any CacheSerializer) -> Self { self }
    public func requestModifier(_ modifier: any ImageDownloadRequestModifier) -> Self { self }
    public func retry(_ strategy: (any RetryStrategy)?) -> Self { self }
    public func retry(maxCount: Int, interval: DelayRetryStrategy.Interval = .seconds(3)) -> Self { self }
    public func alternativeSources(_ sources: [Source]?) -> Self { self }
    public func targetCache(_ cache: ImageCache) -> Self { self }
    public func originalCache(_ cache: ImageCache) -> Self { self }
    public func downloader(_ downloader: ImageDownloader) -> Self { self }
    public func downloadPriority(_ priority: Float) -> Self { self }
    public func callbackQueue(_ queue: CallbackQueue) -> Self { self }
    public func scaleFactor(_ factor: CGFloat) -> Self { self }
    public func memoryCacheExpiration(_ expiration: StorageExpiration?) -> Self { self }
    public func diskCacheExpiration(_ expiration: StorageExpiration?) -> Self { self }
    public func forceRefresh(_ enabled: Bool = true) -> Self { self }
    public func fromMemoryCacheOrRefresh(_ enabled: Bool = true) -> Self { self }
    public func cacheMemoryOnly(_ enabled: Bool = true) -> Self { self }
    public func waitForCache(_ enabled: Bool = true) -> Self { self }
    public func onlyFromCache(_ enabled: Bool = true) -> Self { self }
    public func cacheOriginalImage(_ enabled: Bool = true) -> Self { self }
    public func onlyLoadFirstFrame(_ enabled: Bool = true) -> Self { self }
    public func backgroundDecode(_ enabled: Bool = true) -> Self { self }
    public func loadDiskFileSynchronously(_ enabled: Bool = true) -> Self { self }
    public func keepCurrentImageWhileLoading(_ enabled: Bool = true) -> Self { self }
    public func roundCorner(
        radius: CornerRadius, targetSize: CGSize? = nil, roundingCorners: RectCorner = .all,
        backgroundColor: Color? = nil
    ) -> Self { self }
    public func resizing(referenceSize: CGSize, mode: ResizingImageProcessor.Mode = .none) -> Self { self }
    public func downsampling(size: CGSize) -> Self { self }
    public func cropping(size: CGSize, anchor: CGPoint = .zero) -> Self { self }
    public func blur(radius: CGFloat) -> Self { self }
    public func overlay(color: Color, fraction: CGFloat = 0.5) -> Self { self }
    public func tint(color: Color) -> Self { self }
    public func blackWhite() -> Self { self }
}

@available(*, unavailable, message: "there are no views here: await KingfisherManager.retrieveImage(with: url)")
public struct KFImage {
    public init(_ url: URL?) {}
    public init(source: Source?) {}
}

@available(
    *, unavailable, message: "there are no views here: RetrieveImageResult.image() has the frames of an animation"
)
public struct KFAnimatedImage {
    public init(_ url: URL?) {}
    public init(source: Source?) {}
}

@available(*, unavailable, message: "there are no views here: Image.frames has the frames of an animation")
public class AnimatedImageView {
    public init() {}
}

@available(*, unavailable, message: "there are no views here; the option onFailureImage is the image of a failure")
public protocol Placeholder {}

@available(*, unavailable, message: "there are no views here; progressBlock reports the progress of a call")
public protocol Indicator {}

@available(*, unavailable, message: "there are no views here; progressBlock reports the progress of a call")
public enum IndicatorType {
    case none, activity
}

@available(*, unavailable, message: "there are no views here")
public enum ImageTransition {
    case none
    case fade(TimeInterval)
}

@available(*, unavailable, message: "there are no live photos here; each of their files is an image or a video")
public struct LivePhotoSource {}
