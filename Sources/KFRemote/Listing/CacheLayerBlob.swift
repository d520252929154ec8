import KFStorage
import KFSystem

/// A blob in the list of a layer.
public struct CacheLayerBlob: Sendable {
    /// Whether the blob is an entry or an object.
    public let kind: CacheLayerRequest.Kind
    /// The name of the blob: 64 lowercase hexadecimal digits.
    public let name: String
    /// The size in bytes.
    public let bytes: Int64
    /// How long ago the blob was written or, where the store knows that, read; by the clock of the store. Nil if it does
    /// not know; such a blob counts as new.
    public let unusedFor: Duration?

    /// Takes the path of a blob below the layer's root, such as `ac/ab/ab12…`. Nil if it is no such path.
    public init?(path: some StringProtocol, bytes: Int64, unusedFor: Duration? = nil) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, let kind = CacheLayerRequest.Kind(rawValue: String(parts[0])),
            parts[2].utf8.count == 64, parts[2].utf8.allSatisfy(\.isLowercaseHex), parts[1] == parts[2].prefix(2),
            bytes >= 0
        else { return nil }
        self.kind = kind
        name = String(parts[2])
        self.bytes = bytes
        self.unusedFor = unusedFor
    }

    /// Both times are the store's.
    init?(path: some StringProtocol, bytes: Int64, usedAt time: Timestamp?, now: Timestamp) {
        self.init(
            path: path, bytes: bytes, unusedFor: time.map { .milliseconds(max(0, now.since($0))) })
    }
}
