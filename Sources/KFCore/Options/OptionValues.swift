import Dispatch
import KFImaging
import KFStorage
import KFSystem

/// Where completion handlers are called. Kingfisher's `CallbackQueue`.
public enum CallbackQueue: Sendable {
    /// On the main queue, later.
    case mainAsync
    /// On the main thread: at once when that is where the result came, else later.
    case mainCurrentOrAsync
    /// Wherever the result came.
    case untouch
    /// On this queue, later.
    case dispatch(DispatchQueue)

    /// Calls `block` there.
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

/// Changes the image that is given out, and nothing that is cached. Kingfisher's `ImageModifier`.
public protocol ImageModifier: Sendable {
    /// Called whenever somebody asks a result for its image, from any thread.
    func modify(_ image: Image) -> Image
}

/// A modifier made of a closure.
public struct AnyImageModifier: ImageModifier {
    private let change: @Sendable (Image) -> Image

    /// `modify` is called as `modify(_:)` is.
    public init(modify: @escaping @Sendable (Image) -> Image) { change = modify }

    public func modify(_ image: Image) -> Image { change(image) }
}

/// How an image is checked when it arrives, before anything of it is stored.
public enum ImageCheck: String, Sendable, Hashable {
    /// Header, lengths, checksums and end: finds truncation and gross damage at a small part of a decode's cost.
    case structure
    /// Every frame is decoded as well, and none is kept: finds all damage that a later decode would find.
    case full

    /// How far an image could be checked.
    public enum Extent: String, Sendable, Hashable {
        /// Only the first bytes, which name a format that kf does not decode.
        case none
        /// The structure; also when a full check was asked for and kf does not decode this kind of the format.
        case structure
        /// The structure and every frame.
        case full
    }
}

/// How pixels and bytes are made of a result when somebody asks for them.
final class ResultTerms: Sendable {
    let processing: ProcessingOptions
    let serializer: any CacheSerializer
    let modifier: (any ImageModifier)?

    init(
        _ processing: ProcessingOptions, _ serializer: any CacheSerializer,
        _ modifier: (any ImageModifier)?
    ) {
        self.processing = processing
        self.serializer = serializer
        self.modifier = modifier
    }

    /// The image of bytes that a cache had or a source gave. `identifier` is named by the error.
    func image(of bytes: [UInt8], _ identifier: String) throws(KingfisherError) -> Image {
        do throws(ImagingError) {
            return try serializer.image(with: bytes, options: processing.decode)
        } catch {
            throw KingfisherError(processing: error, identifier: identifier)
        }
    }

    /// The image as it is given out.
    func modified(_ image: Image) -> Image { modifier?.modify(image) ?? image }
}
