import Foundation
import KFCore
import KFImaging

// Kingfisher's functions behind `kf`. On images they are processors here, on data functions of the codecs.
//
// The compiler refuses every call, so that no body runs: `fatalError` stands where a value would be returned.

/// Kingfisher's wrapper of a value, whose functions have other names here.
public struct KingfisherWrapper<Base> {}

@available(
    *, unavailable,
    message: "kf is the prefix of Kingfisher's functions on views, images and data: see KingfisherManager"
)
public protocol KingfisherCompatible {}

@available(
    *, unavailable,
    message: "kf is the prefix of Kingfisher's functions on views, images and data: see KingfisherManager"
)
public protocol KingfisherCompatibleValue {}

@available(
    *, unavailable,
    message: "kf is the prefix of Kingfisher's functions on views, images and data: see KingfisherManager"
)
extension KingfisherCompatible {
    /// Kingfisher's functions of a view.
    public var kf: KingfisherWrapper<Self> { KingfisherWrapper() }
}

extension Image {
    /// Kingfisher's functions of an image.
    public var kf: KingfisherWrapper<Image> { KingfisherWrapper() }
}

extension Data {
    /// Kingfisher's functions of an image file.
    public var kf: KingfisherWrapper<Data> { KingfisherWrapper() }
}

extension KingfisherWrapper {
    @available(
        *, unavailable, message: "there are no views here: await KingfisherManager.retrieveImage(with:options:)"
    )
    @discardableResult
    public func setImage(
        with source: (any SourceConvertible)?, placeholder: Image? = nil, options: KingfisherOptionsInfo? = nil,
        progressBlock: ProgressHandler? = nil,
        completionHandler: (@Sendable (Result<RetrieveImageResult, KingfisherError>) -> Void)? = nil
    ) -> DownloadTask? { fatalError() }

    @available(*, unavailable, message: "keep the DownloadTask of the call, and cancel that")
    public func cancelDownloadTask() {}

    @available(*, unavailable, message: "there are no views here; progressBlock reports the progress of a call")
    public var indicatorType: Never {
        get { fatalError() }
        nonmutating set {}
    }
}

extension KingfisherWrapper<Image> {
    @available(*, unavailable, message: "use width and height of the image, in pixels")
    public var size: CGSize { fatalError() }

    @available(*, unavailable, message: "use frames of the image")
    public var images: [Image]? { fatalError() }

    @available(*, unavailable, message: "use the delays of the image's frames")
    public var duration: TimeInterval { fatalError() }

    @available(*, unavailable, message: "use cost of the image")
    public var cost: Int { fatalError() }

    @available(*, unavailable, message: "an image is decoded and upright from the start")
    public var normalized: Image { fatalError() }

    @available(*, unavailable, message: "an image is decoded and upright from the start")
    public var decoded: Image { fatalError() }

    @available(*, unavailable, message: "use ImageEncoder.encode(image, as: .png)")
    public func pngRepresentation() -> Data? { nil }

    @available(
        *, unavailable, message: "use ImageEncoder.encode(image, as: .jpeg, options:), whose quality is from 1 to 100"
    )
    public func jpegRepresentation(compressionQuality: CGFloat) -> Data? { nil }

    @available(*, unavailable, message: "use ImageEncoder.encode(image, as: .gif)")
    public func gifRepresentation() -> Data? { nil }

    @available(*, unavailable, message: "use ImageEncoder.encode(image, as: format)")
    public func data(format: ImageFormat, compressionQuality: CGFloat = 1) -> Data? { nil }

    @available(
        *, unavailable, message: "use RoundCornerImageProcessor(cornerRadius:).process(.image(image), options: .init())"
    )
    public func image(
        withRoundRadius radius: CGFloat, fit size: CGSize, roundingCorners corners: RectCorner = .all,
        backgroundColor: Color? = nil
    ) -> Image { fatalError() }

    @available(
        *, unavailable, message: "use ResizingImageProcessor(referenceSize:).process(.image(image), options: .init())"
    )
    public func resize(to size: CGSize) -> Image { fatalError() }

    @available(
        *, unavailable,
        message: "use ResizingImageProcessor(referenceSize:mode:).process(.image(image), options: .init())"
    )
    public func resize(to size: CGSize, for mode: ResizingImageProcessor.Mode) -> Image { fatalError() }

    @available(
        *, unavailable, message: "use CroppingImageProcessor(size:anchor:).process(.image(image), options: .init())"
    )
    public func crop(to size: CGSize, anchorOn anchor: CGPoint) -> Image { fatalError() }

    @available(*, unavailable, message: "use BlurImageProcessor(blurRadius:).process(.image(image), options: .init())")
    public func blurred(withRadius radius: CGFloat) -> Image { fatalError() }

    @available(
        *, unavailable, message: "use OverlayImageProcessor(overlay:fraction:).process(.image(image), options: .init())"
    )
    public func overlaying(with color: Color, fraction: CGFloat) -> Image { fatalError() }

    @available(*, unavailable, message: "use TintImageProcessor(tint:).process(.image(image), options: .init())")
    public func tinted(with color: Color) -> Image { fatalError() }

    @available(*, unavailable, message: "use ColorControlsProcessor.process(.image(image), options: .init())")
    public func adjusted(brightness: CGFloat, contrast: CGFloat, saturation: CGFloat, inputEV: CGFloat) -> Image {
        fatalError()
    }
}

extension KingfisherWrapper<Image> {
    @available(*, unavailable, message: "use ImageDecoder.decode(_:options:), or Image(data:options:)")
    public static func image(data: Data, options: DecodeOptions = DecodeOptions()) -> Image? { nil }

    @available(*, unavailable, message: "use DownsamplingImageProcessor(size:).process(.data(bytes), options: .init())")
    public static func downsampledImage(data: Data, to pointSize: CGSize, scale: CGFloat) -> Image? { nil }
}

extension KingfisherWrapper<Data> {
    @available(*, unavailable, message: "use ContentKind.sniff(_:) with the bytes")
    public var imageFormat: ImageFormat { fatalError() }
}
