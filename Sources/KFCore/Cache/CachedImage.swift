import KFImaging
import Synchronization

/// An image in memory: its encoded bytes, its pixels, or both, and what is known of the encoded form.
final class CachedImage: Sendable {
    /// The encoded form; nil when only the pixels are at hand.
    let bytes: [UInt8]?
    let facts: ImageFacts
    /// Where the encoded form was stored; it may have been evicted since.
    let path: String?
    /// The lines of the response that say which requests it is for; nil when it is for all.
    let selection: HeaderLines?
    private let pixels: Mutex<Image?>

    /// At least one of `bytes` and `image` is there.
    init(
        bytes: [UInt8]?, image: Image? = nil, facts: ImageFacts, path: String?, selection: HeaderLines? = nil
    ) {
        self.bytes = bytes
        self.facts = facts
        self.path = path
        self.selection = selection
        pixels = Mutex(image)
    }

    /// The pixels, once they were made.
    var image: Image? { pixels.withLock { $0 } }

    /// Keeps the pixels beside the bytes. The caller has made room for them in the cache.
    func keep(_ image: Image) { pixels.withLock { $0 = image } }

    /// The same without its pixels; nil when it has no bytes.
    var encoded: CachedImage? {
        bytes.map { CachedImage(bytes: $0, facts: facts, path: path, selection: selection) }
    }

    /// In bytes, with these pixels.
    func cost(with image: Image?) -> Int { (bytes?.count ?? 0) + (image?.cost ?? 0) }
}
