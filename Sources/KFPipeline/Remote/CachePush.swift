/// The result of a push of a cache to its remote.
public struct CachePush: Sendable {
    /// The end of an image of a push.
    public enum Outcome: Sendable {
        /// It was uploaded or, where nothing is to be changed, would be.
        case uploaded
        /// The remote has it already.
        case present
        /// It is not shared, for the stated reason: it came from no server, belongs to a user, is expired without a
        /// validator, or its response forbids it.
        case skipped(String)
        /// The remote refused it, or it could not be sent, for the stated reason.
        case failed(String)
    }

    /// The number of images that were uploaded, and their bytes.
    public var uploaded: (entries: Int, bytes: Int64) = (0, 0)
    /// The number of images that the remote has already.
    public var present = 0
    /// The number of images that are not shared.
    public var skipped = 0
    /// The number of images that the remote refused, or that could not be sent.
    public var failed = 0
    /// The number of images that were not tried, because the push was cut off or the remote takes none now.
    public var notTried = 0

    /// Creates the result of a push of nothing.
    public init() {}

    /// The number of images whose end is known.
    package var ended: Int { uploaded.entries + present + skipped + failed }

    mutating func add(_ outcome: Outcome, bytes: Int64) {
        switch outcome {
        case .uploaded: uploaded = (uploaded.entries + 1, uploaded.bytes + bytes)
        case .present: present += 1
        case .skipped: skipped += 1
        case .failed: failed += 1
        }
    }
}

extension CachePush.Outcome {
    init(_ end: RemoteUploads.End) {
        self =
            switch end {
            case .uploaded, .lacking: .uploaded
            case .present: .present
            case .skipped(let reason): .skipped(reason)
            case .dropped(let reason), .failed(let reason): .failed(reason)
            }
    }
}
