import KFImaging
import KFStorage

/// The result of an image while its stores are pending.
///
/// `@unchecked Sendable`, because it belongs to its job, which one stage at a time owns.
final class ImageEnding: @unchecked Sendable {
    enum Content: Sendable {
        case bytes(PendingBytes, ImageFormat, PixelFacts?)
        case processed(ProcessedImage)
        /// An existing file that is delivered unchanged.
        case file(CachedFile)
        /// An image of several that could not be made.
        case failure(KingfisherError)
    }

    /// The retrieval, including the changes that depend on the response.
    var retrieval: Retrieval
    let asked: Retrieval
    let way: RetrievalWay
    var facts = Outcome.Facts()
    var content: Content
    let origin: OriginFacts?
    /// The images that are made together of this one.
    var parts: [ImageEnding] = []
    /// The stores of the original and of the requested image.
    var originalOrder: StoreOrder?
    var targetOrder: StoreOrder?
    /// The renewal of the confirmed entry.
    var renewal: StoreOrder?
    /// The errors that prevented an order.
    var originalProblem: KingfisherError?
    var targetProblem: KingfisherError?
    /// The claim that keeps other processes from requesting the key until everything is stored.
    let flight: FlightHold?
    /// The tokens that make removals in both caches wait until everything is stored.
    private var stores: (target: StoresUnderWay.Token, original: StoresUnderWay.Token?)?

    init(
        _ retrieval: Retrieval, asked: Retrieval, _ way: RetrievalWay, _ content: Content, origin: OriginFacts? = nil,
        flight: FlightHold? = nil
    ) {
        self.retrieval = retrieval
        self.asked = asked
        self.way = way
        self.content = content
        self.origin = origin
        self.flight = flight
    }

    /// All stores that the result waits for.
    var orders: [StoreOrder] {
        [originalOrder, targetOrder, renewal].compactMap { $0 } + parts.compactMap(\.targetOrder)
    }

    /// Makes removals wait until this object is released.
    func holdStores() {
        let key = retrieval.target.key
        let isSame = retrieval.cache === retrieval.originals
        stores = (retrieval.cache.stores.begin(key), isSame ? nil : retrieval.originals.stores.begin(key))
    }

    func result(_ content: Outcome.Content) -> RetrieveImageResult {
        RetrieveImageResult(retrieval, asked: asked, way, content, facts)
    }
}
