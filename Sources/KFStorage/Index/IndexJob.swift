/// What the `IndexWriter` commits as one: a change, or a group of orders.
struct IndexJob: Sendable {
    typealias Change = @Sendable (Connection) throws(StorageError) -> Void
    typealias Completion = @Sendable (Result<Void, StorageError>) -> Void

    enum Work: Sendable {
        case change(Change, Completion)
        case group(Int, of: OrderSubmission)
    }

    /// When its waiting for other processes began.
    let since: ContinuousClock.Instant
    let work: Work

    /// How many rows it changes, about.
    let rows: Int
    /// It is dropped where it would have to wait, and nobody else has to know of it.
    let isOptional: Bool
    /// Its first row. Changes come first, in their order.
    let place: Int64

    init(
        _ change: @escaping Change, since: ContinuousClock.Instant, isOptional: Bool, completion: @escaping Completion
    ) {
        (self.since, work) = (since, .change(change, completion))
        (rows, place, self.isOptional) = (1, .min, isOptional)
    }

    init(_ group: Int, of submission: OrderSubmission, since: ContinuousClock.Instant) {
        (self.since, work) = (since, .group(group, of: submission))
        let orders = submission.groups[group]
        (rows, place, isOptional) = (orders.count, orders.first?.row ?? .min, false)
    }

    /// An outcome for each order; a change has one.
    func finish(_ outcomes: [IndexOrder.Outcome]) {
        switch work {
        case .change(_, let completion): completion(outcomes[0].map { _ in () })
        case .group(let number, let submission): submission.finish(number, outcomes)
        }
    }

    func fail(_ error: StorageError) {
        switch work {
        case .change(_, let completion): completion(.failure(error))
        case .group(let number, let submission):
            submission.finish(number, submission.groups[number].map { _ in .failure(error) })
        }
    }
}
