/// What one image may cost. Every limit is checked before the memory is taken or the time is spent.
public struct DecodeLimits: Sendable, Hashable {
    /// Pixels of one frame. All frames of an animation together may have ten times as many.
    public var maxPixels: Int
    /// Frames of one animation.
    public var maxFrames: Int
    /// Bytes that the frames of an animation may take together, as they are kept: a chain that makes them smaller
    /// as they come needs no more than its results.
    public var maxAnimationBytes: Int
    /// Scans of a progressive JPEG: each one goes over the whole picture.
    public var maxScans: Int
    /// From the start of one decode to its end.
    public var timeLimit: Duration
    /// Images whose decoded pixels would take more bytes than this are decoded smaller; nil never.
    public var scaleDownBytes: Int?

    /// The defaults are those of the command line.
    public init(
        maxPixels: Int = 100_000_000, maxFrames: Int = 10_000, maxAnimationBytes: Int = 256 << 20,
        maxScans: Int = 200, timeLimit: Duration = .seconds(30), scaleDownBytes: Int? = nil
    ) {
        self.maxPixels = maxPixels
        self.maxFrames = maxFrames
        self.maxAnimationBytes = maxAnimationBytes
        self.maxScans = maxScans
        self.timeLimit = timeLimit
        self.scaleDownBytes = scaleDownBytes
    }

    /// Refuses what is larger than allowed, in checked arithmetic.
    func check(width: Int, height: Int, frames: Int = 1) throws(ImagingError) {
        let (pixels, overflow) = width.multipliedReportingOverflow(by: height)
        if overflow || pixels > maxPixels {
            throw .tooLarge(width: width, height: height, maxPixels: maxPixels)
        }
        if frames > maxFrames { throw .tooManyFrames(maxFrames: maxFrames) }
        let (whole, tooMany) = pixels.multipliedReportingOverflow(by: frames)
        let (cap, unlimited) = maxPixels.multipliedReportingOverflow(by: 10)
        if tooMany || !unlimited && whole > cap {
            throw .animationTooLarge(frames: frames, width: width, height: height, maxPixels: cap)
        }
    }
}
