/// Makes one image from another.
///
/// The identifier is part of the cache key: two processors with the same identifier must give the same pixels.
public protocol ImageProcessor: Sendable {
    /// The processor's name with all its parameters. For kf's own processors it is the text that
    /// `ProcessorParser.parse(_:)` parses; a processor of your own needs a unique name.
    var identifier: String { get }

    /// The processors that run one after the other: those of a chain, and by default this one alone.
    var steps: [any ImageProcessor] { get }

    /// Processes an image on the calling thread.
    func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image
}

extension ImageProcessor {
    public var steps: [any ImageProcessor] { [self] }
}

/// The options of a processor beside its own parameters.
public struct ProcessingOptions: Sendable, Equatable {
    /// The options for decoding an item that is still bytes.
    public var decode: DecodeOptions
    /// The number of pixels of a point; the sizes of processors are in points.
    public var scaleFactor: Double

    /// By default, decodes all frames, and a point is a pixel.
    public init(decode: DecodeOptions = .init(), scaleFactor: Double = 1) {
        self.decode = decode
        self.scaleFactor = scaleFactor
    }
}

/// The input of a processor: an image, or the bytes of an image file, which the processor may decode at a reduced size.
public enum ImageProcessItem: Sendable {
    /// A decoded image.
    case image(Image)
    /// The bytes of an image file.
    case data([UInt8])

    /// Returns the image, decoded if necessary.
    ///
    /// `minimumSize` maps the header to the smallest acceptable size; the decoder may reduce the image to it. Nil is
    /// the full size.
    public func image(
        _ options: DecodeOptions, minimumSize: ((ImageInfo) -> PixelSize?)? = nil
    ) throws(ImagingError) -> Image {
        switch self {
        case .image(let image): return image
        case .data(let bytes):
            var options = options
            if let minimumSize {
                options.minimumSize = minimumSize(try ImageProbe.probe(bytes, limits: options.limits))
            }
            return try ImageDecoder.decode(bytes, options: options)
        }
    }

    /// Returns the image, decoded if necessary, with every frame changed. Frames of an encoded animation are changed as
    /// they are decoded, so that only the results are held.
    public func image(
        _ options: DecodeOptions, each change: (Bitmap) throws(ImagingError) -> Bitmap
    ) throws(ImagingError) -> Image {
        switch self {
        case .image(let image):
            return try Allowance.within(options.limits, fileBytes: nil) { () throws(ImagingError) in
                try image.mapBitmaps(change)
            }
        case .data(let bytes):
            // See `RowBands.run`.
            #sourceLocation(file:"ImageProcessor",line:72)
            return try withoutActuallyEscaping(change) { (change) throws(ImagingError) in
                try bytes.withRaw { (bytes) throws(ImagingError) in
                    try ImageDecoder.decode(bytes, options: options, each: change)
                }
            }
        }
    }
    #sourceLocation()
}

extension ImageProcessItem {
    /// Returns the image resampled to the size that `target` computes from its own. Bytes are decoded at a reduced size
    /// if that is enough.
    func image(_ options: DecodeOptions, resizedTo target: (PixelSize) -> PixelSize) throws(ImagingError) -> Image {
        switch self {
        case .image(let image):
            let size = target(image.bitmap.size)
            try options.limits.check(size, frames: image.frames.count)
            return try Allowance.within(options.limits, fileBytes: nil) { () throws(ImagingError) in
                try image.mapBitmaps { (bitmap) throws(ImagingError) in try Resampler.resize(bitmap, to: size) }
            }
        case .data(let bytes):
            let info = try ImageProbe.probe(bytes, limits: options.limits)
            return try ImageDecoder.decode(bytes, options: options.sized(target(info.size)))
        }
    }
}

extension ImageProcessItem {
    /// Returns the image like `image(_:each:)`, for a change that may add colour to a grey picture.
    ///
    /// A grey picture with a profile is converted to sRGB first, because its profile does not describe the result.
    func image(
        _ options: DecodeOptions, coloring: Bool, each change: (Bitmap) throws(ImagingError) -> Bitmap
    ) throws(ImagingError) -> Image {
        let item = coloring ? try withoutGrayProfile(options) : self
        return try item.image(options, each: change).withFittingProfile
    }

    private func withoutGrayProfile(_ options: DecodeOptions) throws(ImagingError) -> ImageProcessItem {
        let image: Image
        switch self {
        case .image(let decoded): image = decoded
        case .data(let bytes):
            let info = try ImageProbe.probe(bytes, limits: options.limits)
            // An animation in colour is changed frame by frame. A still picture may be grey though its header is not,
            // such as a BMP with a palette of greys.
            guard info.frames == 1 || info.colorModel == .gray else { return self }
            image = try ImageDecoder.decode(bytes, options: options)
        }
        return .image(image.bitmap.format.isGray ? try image.convertedToSRGB() : image)
    }
}
