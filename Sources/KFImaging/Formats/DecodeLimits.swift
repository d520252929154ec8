/// The limits for the work on one image. Each is checked before the memory is allocated or the time is spent.
public struct DecodeLimits: Sendable, Hashable {
    /// The pixels of one frame. All frames of an animation together may have ten times as many.
    public var maxPixels: Int
    /// The pixels of one side. A picture with very many short rows takes more time than its number of pixels suggests.
    ///
    /// Only PNG allows more than the default.
    public var maxSide: Int
    /// The bytes that decoder, canvas, frames, processors and encoder together may hold at a time. `Int.max` is no
    /// limit.
    ///
    /// Nil is 1 GiB; for a file smaller than 1.25 MiB it is 384 MiB plus 512 times the size of the file.
    public var maxMemory: Int?
    /// The frames of one animation.
    public var maxFrames: Int
    /// The bytes of all frames of an animation together. When processors shrink frames as they are decoded, the results
    /// count.
    public var maxAnimationBytes: Int
    /// The scans of a progressive JPEG; each is a pass over the whole picture.
    public var maxScans: Int
    /// The processor time for decoding, processing and encoding together, on all threads. Each of several variants has
    /// its own, and so has a full check. Work that takes 60 times as long by the clock ends too.
    ///
    /// Nil is 30 s, and 5 s for a file of at most 256 KiB; in a debug build six times as long. `.seconds(Int64.max)` is
    /// no limit.
    public var timeLimit: Duration?
    /// The bytes of decoded pixels above which an image is decoded at a smaller size; nil disables this.
    public var scaleDownBytes: Int?
    /// Whether a damaged JPEG, PNG or GIF is decoded as far as it goes, with the warning ``ImageWarning/damaged(reason:)``.
    /// Missing pixels are black, grey or transparent. Such an image is not stored in a cache.
    public var toleratesDamage = false

    /// The defaults are those of the command line.
    public init(
        maxPixels: Int = 100_000_000, maxSide: Int = 1_000_000, maxMemory: Int? = nil, maxFrames: Int = 10_000,
        maxAnimationBytes: Int = 256 << 20, maxScans: Int = 200, timeLimit: Duration? = nil,
        scaleDownBytes: Int? = nil
    ) {
        self.maxPixels = maxPixels
        self.maxSide = maxSide
        self.maxMemory = maxMemory
        self.maxFrames = maxFrames
        self.maxAnimationBytes = maxAnimationBytes
        self.maxScans = maxScans
        self.timeLimit = timeLimit
        self.scaleDownBytes = scaleDownBytes
    }

    /// Returns the memory limit for an image whose file has `fileBytes`.
    package func memory(fileBytes: Int?) -> Int {
        if let maxMemory { return maxMemory }
        guard let fileBytes, fileBytes < 1 << 30 else { return 1 << 30 }
        return min(1 << 30, (384 << 20) + fileBytes * 512)
    }

    #if DEBUG
    /// A program's own processors are not optimised in its debug build and take ten to fifty times as long.
    ///
    /// With this factor the images of tests stay within the limit, and a test of the limit ends within a minute.
    private static let slowness = 6
    #else
    private static let slowness = 1
    #endif

    /// Returns the time limit for an image whose file has `fileBytes`.
    func time(fileBytes: Int?) -> Duration {
        if let timeLimit { return timeLimit }
        let isSmall = fileBytes.map { $0 <= 256 << 10 } ?? false
        return .seconds((isSmall ? 5 : 30) * DecodeLimits.slowness)
    }

    /// Throws the error of a limit that the header exceeds.
    func check(_ info: ImageInfo) throws(ImagingError) {
        try check(info.size, frames: info.frames)
    }

    /// Throws the error of a limit that the size or the number of frames exceeds; no arithmetic overflows.
    func check(_ size: PixelSize, frames: Int = 1) throws(ImagingError) {
        let (width, height) = (size.width, size.height)
        let (pixels, overflow) = width.multipliedReportingOverflow(by: height)
        if overflow || pixels > maxPixels {
            throw .tooLarge(width: width, height: height, maxPixels: maxPixels)
        }
        if max(width, height) > maxSide { throw .sideTooLong(width: width, height: height, maxSide: maxSide) }
        if frames > maxFrames { throw .tooManyFrames(maxFrames: maxFrames) }
        let (whole, tooMany) = pixels.multipliedReportingOverflow(by: frames)
        let (cap, unlimited) = maxPixels.multipliedReportingOverflow(by: 10)
        if tooMany || !unlimited && whole > cap {
            throw .animationTooLarge(frames: frames, width: width, height: height, maxPixels: cap)
        }
    }
}
