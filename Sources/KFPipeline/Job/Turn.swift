import KFRemote

package protocol ImageRecipient: AnyObject, Sendable {
    /// Takes several ended jobs at once; `results` has what came of each. Called from any thread; must not block.
    func ended(_ jobs: [ImageJob])
}

/// The work that the stages on one thread hand on: stores, jobs whose sources are asked, requests to remotes, retries and ended
/// images. Handing on several together costs less than each alone.
struct Turn {
    /// The stores in one cache. Those of one image are a group, as places in `orders`, and are committed as one
    /// transaction.
    private struct Batch {
        let cache: ImageCache
        var orders: [StoreOrder] = []
        var groups: [Range<Int>] = []
        var isUrgent = false
        /// The number of the image of the last group.
        var image = 0

        mutating func add(_ order: StoreOrder, of next: (image: Int, isUrgent: Bool)) {
            if image != next.image { groups.append(orders.count..<orders.count) }
            orders.append(order)
            groups[groups.count - 1] = groups[groups.count - 1].lowerBound..<orders.count
            (image, isUrgent) = (next.image, isUrgent || next.isUrgent)
        }
    }

    private var batches: [Batch] = []
    /// The number of the image whose stores follow, and whether they are to be committed at once.
    private var next = (image: 1, isUrgent: false)
    private var first: ContinuousClock.Instant?
    /// The jobs whose sources are asked.
    var jobs: [ImageJob] = []
    var requests: [CacheLayerRequest] = []
    /// The retries. They begin to wait when all jobs with the same work have been notified, so that they wait together.
    var rests: [RestQueue.Wish] = []
    private var ended: [ImageJob] = []

    var stores: Int { batches.reduce(0) { $0 + $1.orders.count } }

    var isEmpty: Bool { batches.isEmpty && jobs.isEmpty && requests.isEmpty && rests.isEmpty && ended.isEmpty }

    /// Runs a stage, and hands on what follows from it.
    static func run(_ stage: (inout Turn) -> Void) {
        var turn = Turn()
        stage(&turn)
        turn.flush()
    }

    /// Begins the stores of another image. Those in one cache are committed together.
    mutating func beginStores(urgent: Bool) { next = (next.image + 1, urgent) }

    mutating func store(_ order: StoreOrder) {
        if first == nil { first = .now }
        let place = batches.firstIndex { $0.cache === order.cache } ?? batches.count
        if place == batches.count { batches.append(Batch(cache: order.cache)) }
        batches[place].add(order, of: next)
    }

    func isOlder(than span: Duration) -> Bool { first.map { $0.duration(to: .now) > span } ?? false }

    /// Adds the end of a job, unless it has already been delivered.
    mutating func end(_ job: ImageJob, _ result: ImageJob.End) {
        if job.deliver(result) { ended.append(job) }
    }

    mutating func flush() {
        let turn = self
        self = Turn()
        for batch in turn.batches { batch.cache.submit(batch.orders, batch.groups, urgent: batch.isUrgent) }
        if !turn.jobs.isEmpty { ImageJob.fetch(turn.jobs) }
        turn.requests.forEachGroup(of: { $0.remote }) { $0[0].remote.start($0) }
        turn.rests.forEachGroup(of: { $0.job.downloader }) { $0[0].job.downloader.rests.rest($0) }
        turn.ended.forEachGroup(of: { $0.recipient }) { $0[0].recipient.ended($0) }
    }
}

extension Array {
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
