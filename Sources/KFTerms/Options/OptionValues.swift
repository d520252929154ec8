import Dispatch
import KFImaging
import KFStorage
import KFSystem

/// The queue on which handlers are called. Kingfisher's `CallbackQueue`.
public enum CallbackQueue: Sendable {
    /// The main queue, asynchronously.
    case mainAsync
    /// The main thread: synchronously if the result arrives there, otherwise asynchronously.
    case mainCurrentOrAsync
    /// The thread on which the result arrives.
    case untouch
    /// This queue, asynchronously.
    case dispatch(DispatchQueue)

    /// Calls `block` on the queue.
    public func execute(_ block: @escaping @Sendable () -> Void) {
        switch self {
        case .mainAsync: DispatchQueue.main.async(execute: block)
        case .mainCurrentOrAsync:
            if ProcessState.isMainThread { block() } else { DispatchQueue.main.async(execute: block) }
        case .untouch: block()
        case .dispatch(let queue): queue.async(execute: block)
        }
    }
}

/// A modifier of delivered images. Cached images are not changed. Kingfisher's `ImageModifier`.
public protocol ImageModifier: Sendable {
    /// Returns the image to deliver. Called from any thread, once per call of ``RetrieveImageResult/image()``.
    func modify(_ image: Image) -> Image
}

/// A modifier made of a closure.
public struct AnyImageModifier: ImageModifier {
    private let change: @Sendable (Image) -> Image

    /// Creates a modifier from a closure, which is called like ``ImageModifier/modify(_:)``.
    public init(modify: @escaping @Sendable (Image) -> Image) { change = modify }

    public func modify(_ image: Image) -> Image { change(image) }
}

/// The check of an arriving image, before anything of it is stored.
public enum ImageCheck: String, Sendable, Hashable {
    /// Checks header, lengths, checksums and end. Finds truncation and gross damage at a fraction of the cost of
    /// decoding.
    case structure
    /// Decodes every frame as well, without keeping it. Finds all damage that a later decode would find.
    case full

    /// The extent to which an image could be checked.
    public enum Extent: String, Sendable, Hashable {
        /// Only the first bytes, for a format that kf recognises and does not decode.
        case none
        /// The structure; also after a full check of a kind of the format that kf does not decode.
        case structure
        /// The structure and every frame.
        case full
    }
}

/// The parameters for decoding and encoding a result on demand.
package final class ResultTerms: Sendable {
    package let processing: ProcessingOptions
    package let serializer: any CacheSerializer
    let modifier: (any ImageModifier)?

    package init(_ processing: ProcessingOptions, _ serializer: any CacheSerializer, _ modifier: (any ImageModifier)?) {
        self.processing = processing
        self.serializer = serializer
        self.modifier = modifier
    }

    /// Decodes the bytes of a cache or source. An error names `identifier`.
    package func image(of bytes: [UInt8], _ identifier: String) throws(KingfisherError) -> Image {
        do throws(ImagingError) {
            return try serializer.image(with: bytes, options: processing.decode)
        } catch {
            throw KingfisherError(processing: error, identifier: identifier)
        }
    }

    /// Returns the image as it is delivered.
    package func modified(_ image: Image) -> Image { modifier?.modify(image) ?? image }
}
