import Foundation
import KFCore
import KFImaging

// What Kingfisher's processors and serializers have and these do not, or under another name.

extension ImageProcessor {
    @available(*, unavailable, message: "use process(_:options:), which returns an image or throws")
    public func process(item: ImageProcessItem, options: KingfisherOptions) -> Image? { nil }
}

extension CacheSerializer {
    @available(*, unavailable, message: "use data(for:original:), which returns the bytes and their format")
    public func data(with image: Image, original: Data?) -> Data? { nil }

    @available(*, unavailable, message: "use image(with:options:) with bytes and DecodeOptions; it throws")
    public func image(with data: Data, options: KingfisherOptions) -> Image? { nil }
}

@available(*, unavailable, message: "Core Image is Apple's; an ImageProcessor works on the pixels of a Bitmap")
public protocol CIImageProcessor {}

@available(*, unavailable, message: "Core Image is Apple's; an ImageProcessor works on the pixels of a Bitmap")
public struct Filter {}
