/// One frame of an image, with the time for which it is shown.
public struct ImageFrame: Sendable, Equatable {
    /// The picture.
    public var bitmap: Bitmap
    /// The time for which the frame is shown; zero for a still image.
    public var delay: Duration

    /// Makes a frame that is shown for `delay`.
    public init(bitmap: Bitmap, delay: Duration = .zero) {
        self.bitmap = bitmap
        self.delay = delay
    }
}

/// A decoded image: one frame, or the composited frames of an animation, all of one size.
public struct Image: Sendable, Equatable {
    /// The frames; never empty.
    public private(set) var frames: [ImageFrame]
    /// The number of times an animation plays; 0 is forever.
    public var loopCount: Int
    /// The format that the image was decoded from; nil for an image that a program made.
    public var sourceFormat: ImageFormat?
    /// The ICC profile of the pixel values; nil is sRGB.
    public var iccProfile: [UInt8]?
    /// The code points of an HDR picture without a profile, which AVIF can store; nil for any other.
    var codePoints: CodePoints?
    /// The EXIF and XMP of the file. Encoders write them when ``EncodeOptions/keepsMetadata`` is true.
    public var metadata: ImageMetadata?
    /// The faults of the file that cost no pixel, and the parts of it that were left out.
    public var warnings: [ImageWarning] = []

    /// Makes a still image.
    public init(_ bitmap: Bitmap, sourceFormat: ImageFormat? = nil, iccProfile: [UInt8]? = nil) {
        (frames, loopCount) = ([ImageFrame(bitmap: bitmap)], 0)
        (self.sourceFormat, self.iccProfile) = (sourceFormat, iccProfile)
    }

    /// Makes an animation; nil when there are no frames or their sizes differ.
    public init?(
        frames: [ImageFrame], loopCount: Int = 0, sourceFormat: ImageFormat? = nil, iccProfile: [UInt8]? = nil
    ) {
        guard let first = frames.first?.bitmap, frames.allSatisfy({ $0.bitmap.size == first.size }) else { return nil }
        (self.frames, self.loopCount) = (frames, loopCount)
        (self.sourceFormat, self.iccProfile) = (sourceFormat, iccProfile)
    }

    /// The bitmap of the first frame.
    public var bitmap: Bitmap { frames[0].bitmap }
    /// The width in pixels.
    public var width: Int { bitmap.width }
    /// The height in pixels.
    public var height: Int { bitmap.height }
    /// Whether there is more than one frame.
    public var isAnimated: Bool { frames.count > 1 }
    /// The size of the pixels in memory, in bytes; frames that share their memory count once.
    public var cost: Int {
        if frames.count == 1 { return bitmap.byteCount }
        var seen: Set<ObjectIdentifier> = []
        return frames.reduce(0) { $0 + (seen.insert($1.bitmap.identity).inserted ? $1.bitmap.byteCount : 0) }
    }

    /// Returns the image with `change` applied to every frame's bitmap; the results must have one size.
    public func mapBitmaps(_ change: (Bitmap) throws(ImagingError) -> Bitmap) throws(ImagingError) -> Image {
        var result = self
        for index in frames.indices {
            let isSame = index > 0 && frames[index].bitmap.identity == frames[index - 1].bitmap.identity
            result.frames[index].bitmap =
                isSame ? result.frames[index - 1].bitmap : try change(frames[index].bitmap)
        }
        return result
    }

    /// The first frame as a still image.
    public var firstFrame: Image {
        var image = Image(bitmap, sourceFormat: sourceFormat, iccProfile: iccProfile)
        image.metadata = metadata
        image.codePoints = codePoints
        image.warnings = warnings
        return image
    }
}

extension Image: CustomStringConvertible {
    /// One line such as `Image(1024×683, jpeg)`; of an animation it states the number of frames.
    public var description: String {
        let size = "\(width)×\(height)"
        let words = [size, isAnimated ? "\(frames.count) frames" : nil, sourceFormat?.rawValue]
        return "Image(\(words.compactMap { $0 }.joined(separator: ", ")))"
    }
}
