/// What a processor is given: an image, or the bytes of one that it may decode as suits it.
public enum ImageProcessItem: Sendable {
    /// Decoded already.
    case image(Image)
    /// The bytes of an image file.
    case data([UInt8])

    /// The image, decoded if need be.
    ///
    /// `minimumSize` gives the size that is needed, going by the header; the picture may then be decoded smaller than
    /// it is, but not smaller than that. Nil asks for all of it.
    public func image(
        _ options: DecodeOptions, minimumSize: ((ImageInfo) -> PixelSize?)? = nil
    ) throws(ImagingError) -> Image {
        switch self {
        case .image(let image): return image
        case .data(let bytes):
            var options = options
            if let minimumSize {
                let info = try bytes.withUnsafeBufferPointer { (buffer) throws(ImagingError) in
                    try ImageProbe.probe(UnsafeRawBufferPointer(buffer), limits: options.limits)
                }
                options.minimumSize = minimumSize(info)
            }
            return try ImageDecoder.decode(bytes, options: options)
        }
    }

    /// The image with every frame changed, decoded if need be. Of an animation that is still data no more is held than
    /// the results.
    public func image(
        _ options: DecodeOptions, each change: (Bitmap) throws(ImagingError) -> Bitmap
    ) throws(ImagingError) -> Image {
        switch self {
        case .image(let image):
            return try Allowance.within(options.limits, fileBytes: nil) { () throws(ImagingError) in
                try image.mapBitmaps(change)
            }
        case .data(let bytes):
            return try withoutActuallyEscaping(change) { (change) throws(ImagingError) in
                try bytes.withUnsafeBufferPointer { (buffer) throws(ImagingError) in
                    try ImageDecoder.decode(UnsafeRawBufferPointer(buffer), options: options, each: change)
                }
            }
        }
    }
}
