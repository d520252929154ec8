/// One picture of an image, with the time that it stands.
public struct ImageFrame: Sendable, Equatable {
    /// What is seen.
    public var bitmap: Bitmap
    /// Zero for a still image.
    public var delay: Duration

    /// A frame that stands for `delay`.
    public init(bitmap: Bitmap, delay: Duration = .zero) {
        self.bitmap = bitmap
        self.delay = delay
    }
}

/// A decoded image: one frame, or the composited frames of an animation, all of one size.
public struct Image: Sendable, Equatable {
    /// Never empty.
    public private(set) var frames: [ImageFrame]
    /// How often an animation plays; 0 is for ever.
    public var loopCount: Int
    /// The format it was decoded from; nil for one that was made.
    public var sourceFormat: ImageFormat?
    /// The profile its pixel values are meant in; nil is sRGB.
    public var iccProfile: [UInt8]?
    /// EXIF and XMP, where the file has them. Encoders write them when they are told to.
    public var metadata: ImageMetadata?
    /// What the decoder found wrong with the file, or left out. No encoder writes it.
    public var warnings: [ImageWarning] = []

    /// A still image.
    public init(_ bitmap: Bitmap, sourceFormat: ImageFormat? = nil, iccProfile: [UInt8]? = nil) {
        self.init(
            first: ImageFrame(bitmap: bitmap), others: [], loopCount: 0, sourceFormat: sourceFormat,
            iccProfile: iccProfile)
    }

    /// An animation; nil when the frames are none or differ in size.
    public init?(
        frames: [ImageFrame], loopCount: Int = 0, sourceFormat: ImageFormat? = nil, iccProfile: [UInt8]? = nil
    ) {
        guard let first = frames.first?.bitmap else { return nil }
        guard frames.allSatisfy({ $0.bitmap.width == first.width && $0.bitmap.height == first.height }) else {
            return nil
        }
        self.init(
            first: frames[0], others: frames[1...], loopCount: loopCount, sourceFormat: sourceFormat,
            iccProfile: iccProfile)
    }

    private init(
        first: ImageFrame, others: ArraySlice<ImageFrame>, loopCount: Int, sourceFormat: ImageFormat?,
        iccProfile: [UInt8]?
    ) {
        frames = [first] + others
        self.loopCount = loopCount
        self.sourceFormat = sourceFormat
        self.iccProfile = iccProfile
    }

    /// The first frame's bitmap.
    public var bitmap: Bitmap { frames[0].bitmap }
    /// In pixels.
    public var width: Int { bitmap.width }
    /// In pixels.
    public var height: Int { bitmap.height }
    /// Whether it has more than one frame.
    public var isAnimated: Bool { frames.count > 1 }
    /// The bytes that its pixels take in memory; frames that share their memory count once.
    public var cost: Int {
        if frames.count == 1 { return bitmap.byteCount }
        var seen: Set<ObjectIdentifier> = []
        return frames.reduce(0) { $0 + (seen.insert($1.bitmap.identity).inserted ? $1.bitmap.byteCount : 0) }
    }

    /// The same image with every frame's bitmap replaced; the new ones must be of one size.
    public func mapBitmaps(_ change: (Bitmap) throws(ImagingError) -> Bitmap) throws(ImagingError) -> Image {
        var result = self
        for index in frames.indices {
            let isSame = index > 0 && frames[index].bitmap.identity == frames[index - 1].bitmap.identity
            result.frames[index].bitmap =
                isSame ? result.frames[index - 1].bitmap : try change(frames[index].bitmap)
        }
        return result
    }

    /// The first frame alone, as a still image.
    public var firstFrame: Image {
        var image = Image(bitmap, sourceFormat: sourceFormat, iccProfile: iccProfile)
        image.metadata = metadata
        image.warnings = warnings
        return image
    }
}

extension Image: CustomStringConvertible {
    /// One line, such as `Image(1024×683, jpeg)`; an animation with its number of frames.
    public var description: String {
        let size = "\(width)×\(height)"
        let words = [size, isAnimated ? "\(frames.count) frames" : nil, sourceFormat?.rawValue]
        return "Image(\(words.compactMap { $0 }.joined(separator: ", ")))"
    }
}
