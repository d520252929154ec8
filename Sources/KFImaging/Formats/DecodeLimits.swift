/// What one image may cost. Every limit is checked before the memory is taken or the time is spent.
public struct DecodeLimits: Sendable, Hashable {
    /// Pixels of one frame. All frames of an animation together may have ten times as many.
    public var maxPixels: Int
    /// Pixels of one side: a picture of many rows of a few pixels takes longer than its pixels would say. PNG is the
    /// only format that could have more.
    public var maxSide: Int
    /// Bytes that all work on the image may hold at a time, as they are allocated: decoder, canvas, frames, processors
    /// and encoder together. `Int.max` is no limit.
    ///
    /// Nil is 1 GiB, and less for a file that is smaller than 1.25 MiB: 384 MiB and 512 bytes for each of its own.
    public var maxMemory: Int?
    /// Frames of one animation.
    public var maxFrames: Int
    /// Bytes that the frames of an animation may take together, as they are kept: a chain that makes them smaller
    /// as they come needs no more than its results.
    public var maxAnimationBytes: Int
    /// Scans of a progressive JPEG: each one goes over the whole picture.
    public var maxScans: Int
    /// For decoding, processing and encoding together; each of several variants has it for itself. A full check has it
    /// for itself, too.
    ///
    /// Nil is 30 s, and 5 s for a file of at most 256 KiB; in a debug build six times as long.
    public var timeLimit: Duration?
    /// Images whose decoded pixels would take more bytes than this are decoded smaller; nil never.
    public var scaleDownBytes: Int?

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

    /// The bytes that the work on an image may hold, whose file has so many.
    package func memory(fileBytes: Int?) -> Int {
        if let maxMemory { return maxMemory }
        guard let fileBytes, fileBytes < 1 << 30 else { return 1 << 30 }
        return min(1 << 30, (384 << 20) + fileBytes * 512)
    }

    #if DEBUG
    /// Processors of a program's own are not optimised in its debug build, and take ten to fifty times as long. With the
    /// factor, images that tests process stay within the limit on a busy machine, and a test that runs into it ends within
    /// a minute.
    private static let slowness = 6
    #else
    private static let slowness = 1
    #endif

    /// The time that the work on an image may take, whose file has so many bytes.
    func time(fileBytes: Int?) -> Duration {
        if let timeLimit { return timeLimit }
        let isSmall = fileBytes.map { $0 <= 256 << 10 } ?? false
        return .seconds((isSmall ? 5 : 30) * DecodeLimits.slowness)
    }

    /// Refuses what is larger than allowed, in checked arithmetic.
    func check(width: Int, height: Int, frames: Int = 1) throws(ImagingError) {
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
