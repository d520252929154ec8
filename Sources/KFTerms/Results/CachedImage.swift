import KFImaging
import Synchronization

/// An image in memory: its encoded bytes, its pixels or both, and the facts about the encoded image.
package final class CachedImage: Sendable {
    /// The encoded image; nil when only the pixels are present.
    package let bytes: [UInt8]?
    package let facts: ImageFacts
    /// The path where the encoded image was stored; it may have been evicted since.
    package let path: String?
    /// The response headers that decide which requests the image is for; nil when it is for all.
    package let selection: HeaderLines?
    private let pixels: Mutex<Image?>

    /// Requires at least one of `bytes` and `image`.
    package init(
        bytes: [UInt8]?, image: Image? = nil, facts: ImageFacts, path: String?, selection: HeaderLines? = nil
    ) {
        self.bytes = bytes
        self.facts = facts
        self.path = path
        self.selection = selection
        pixels = Mutex(image)
    }

    /// The pixels; nil until they are decoded.
    package var image: Image? { pixels.withLock { $0 } }

    /// Keeps the pixels beside the bytes. The caller has reserved room for them in the memory cache.
    package func keep(_ image: Image) { pixels.withLock { $0 = image } }

    /// A copy without the pixels; nil when there are no bytes.
    package var encoded: CachedImage? {
        bytes.map { CachedImage(bytes: $0, facts: facts, path: path, selection: selection) }
    }

    /// Returns the cost in bytes, with these pixels.
    package func cost(with image: Image?) -> Int { (bytes?.count ?? 0) + (image?.cost ?? 0) }
}
