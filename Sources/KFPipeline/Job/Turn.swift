import KFRemote
import KFTerms

package protocol ImageRecipient: AnyObject, Sendable {
    /// Takes several ended images at once. Called from any thread; must not block.
    func ended(_ images: [EndedImage])
}

/// The end of one image: its job and its result.
package struct EndedImage: Sendable {
    package let job: ImageJob
    package let result: Result<RetrieveImageResult, KingfisherError>

    /// The results of all images that the job was to bring, in their order.
    package var results: [Result<RetrieveImageResult, KingfisherError>] {
        switch job.wanted {
        case .one, .pixels: return [result]
        case .several(let retrievals), .together(let retrievals, _):
            let results = job.state.withLock { $0.results }
            return results.isEmpty ? retrievals.map { _ in result } : results
        }
    }
}

/// What the stages on one thread hand on: stores, jobs whose sources are asked, requests to remotes, retries and ended
/// images. Handing on several together costs less than each alone.
struct Turn {
    private var orders: [StoreOrder] = []
    /// The stores of one image in one cache, as places in `orders`. Each group is committed as one transaction.
    private var groups: [(cache: ImageCache, places: Range<Int>, urgent: Bool)] = []
    /// Whether the next store is the first one of its image, and is to be committed at once.
    private var next = (isFirst: true, isUrgent: false)
    private var first: ContinuousClock.Instant?
    /// The jobs whose sources are asked.
    var jobs: [ImageJob] = []
    var requests: [CacheLayerRequest] = []
    /// The retries. They begin to wait when all jobs with the same work have been notified, so that they wait together.
    var rests: [RestQueue.Wish] = []
    private var ended: [EndedImage] = []

    var stores: Int { orders.count }

    var isEmpty: Bool { orders.isEmpty && jobs.isEmpty && requests.isEmpty && rests.isEmpty && ended.isEmpty }

    /// Runs a stage, and hands on what follows from it.
    static func run(_ stage: (inout Turn) -> Void) {
        var turn = Turn()
        stage(&turn)
        turn.flush()
    }

    /// Begins the stores of another image. Those in one cache are committed together.
    mutating func beginStores(urgent: Bool) { next = (true, urgent) }

    mutating func store(_ order: StoreOrder) {
        if first == nil { first = .now }
        if next.isFirst || groups.last?.cache !== order.cache {
            groups.append((order.cache, orders.count..<orders.count, next.isUrgent))
            next.isFirst = false
        }
        orders.append(order)
        let last = groups.count - 1
        groups[last].places = groups[last].places.lowerBound..<orders.count
    }

    func isOlder(than span: Duration) -> Bool { first.map { $0.duration(to: .now) > span } ?? false }

    /// Adds the end of a job, unless it has already been delivered.
    mutating func end(_ job: ImageJob, _ result: consuming Result<RetrieveImageResult, KingfisherError>) {
        if job.deliver() { ended.append(EndedImage(job: job, result: result)) }
    }

    /// Delivers the image of a job whose stores have not begun.
    func deliver(early job: ImageJob, _ result: RetrieveImageResult) {
        if job.deliver(early: true) { job.recipient.ended([EndedImage(job: job, result: .success(result))]) }
    }

    mutating func flush() {
        let turn = self
        self = Turn()
        turn.groups.forEachGroup(of: { $0.cache }) { mine in
            let places = mine.map(\.places)
            let (orders, groups) =
                mine.count == turn.groups.count ? (turn.orders, places) : turn.orders.gathered(places)
            mine[0].cache.submit(orders, groups, urgent: mine.contains { $0.urgent })
        }
        if !turn.jobs.isEmpty { ImageJob.fetch(turn.jobs) }
        turn.requests.forEachGroup(of: { $0.remote }) { $0[0].remote.start($0) }
        turn.rests.forEachGroup(of: { $0.job.downloader }) { $0[0].job.downloader.rests.rest($0) }
        turn.ended.forEachGroup(of: { $0.job.recipient }) { $0[0].job.recipient.ended($0) }
    }
}

extension Array {
    /// Returns the elements of some groups one after the other, and the new places of the groups.
    fileprivate func gathered(_ groups: [Range<Int>]) -> ([Element], [Range<Int>]) {
        var elements: [Element] = []
        let places = groups.map { group in
            elements += self[group]
            return elements.count - group.count..<elements.count
        }
        return (elements, places)
    }

    /// Calls `body` with the elements of each owner, in their order. There is nearly always only one owner.
    func forEachGroup(of owner: (Element) -> AnyObject, _ body: ([Element]) -> Void) {
        var rest = self
        while let first = rest.first.map(owner) {
            // By index: an iterator copies each element.
            if rest.indices.allSatisfy({ owner(rest[$0]) === first }) { return body(rest) }
            body(rest.filter { owner($0) === first })
            rest.removeAll { owner($0) === first }
        }
    }
}
