import KFCore
import KFImaging

// Kingfisher's names of types that have another name here. The compiler offers to replace them.

@available(*, unavailable, renamed: "Image")
public typealias KFCrossPlatformImage = Image

@available(*, unavailable, renamed: "Color")
public typealias KFCrossPlatformColor = Color

@available(*, unavailable, renamed: "KingfisherOptions")
public typealias KingfisherParsedOptionsInfo = KingfisherOptions

@available(*, unavailable, renamed: "ProgressHandler", message: "its total is nil while the length is unknown")
public typealias DownloadProgressBlock = ProgressHandler

@available(*, unavailable, renamed: "PrefetcherProgressBlock")
public typealias PrefetcherSourceProgressBlock = PrefetcherProgressBlock

@available(*, unavailable, renamed: "PrefetcherProgressBlock")
public typealias PrefetcherCompletionHandler = PrefetcherProgressBlock

@available(*, unavailable, renamed: "PrefetcherProgressBlock")
public typealias PrefetcherSourceCompletionHandler = PrefetcherProgressBlock

@available(*, unavailable, renamed: "ImageDownloadRequestModifier")
public typealias AsyncImageDownloadRequestModifier = ImageDownloadRequestModifier

@available(*, unavailable, renamed: "AuthenticationChallengeResponsible")
public typealias AuthenticationChallengeResponsable = AuthenticationChallengeResponsible

@available(*, unavailable, renamed: "DownloadMetrics")
public typealias NetworkMetrics = DownloadMetrics

@available(*, unavailable, renamed: "ResizingImageProcessor.Mode")
public typealias ContentMode = ResizingImageProcessor.Mode

@available(*, unavailable, renamed: "CornerRadius")
public typealias Radius = CornerRadius

@available(*, unavailable, renamed: "BorderImageProcessor.Border")
public typealias Border = BorderImageProcessor.Border

@available(*, unavailable, renamed: "BlendImageProcessor")
public typealias CompositingImageProcessor = BlendImageProcessor

@available(*, unavailable, renamed: "DecodeOptions")
public typealias ImageCreatingOptions = DecodeOptions
