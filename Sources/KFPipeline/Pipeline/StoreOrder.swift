import KFStorage
import KFTerms

/// A change for the writer of a cache, and the part that hears how it has ended.
struct StoreOrder: Sendable {
    typealias Outcome = Result<StoredFile?, KingfisherError>

    enum Receiver: Sendable {
        /// One of the stores of a body.
        case body(Body, Int)
        /// Called on the writer's thread.
        case call(@Sendable (Outcome, inout Turn) -> Void)
    }

    let change: Store
    let cache: ImageCache
    private let receiver: Receiver?

    init(_ change: Store, in cache: ImageCache, _ receiver: Receiver? = nil) {
        (self.change, self.cache, self.receiver) = (change, cache, receiver)
    }

    func end(_ outcome: Outcome, _ turn: inout Turn) {
        switch receiver {
        case .body(let body, let place): body.end(place, outcome, &turn)
        case .call(let call): call(outcome, &turn)
        case nil: break
        }
    }
}
