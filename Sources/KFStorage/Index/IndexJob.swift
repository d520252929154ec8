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
    var rows: Int {
        switch work {
        case .change: 1
        case .group(let number, let submission): submission.groups[number].count
        }
    }

    /// Changes come first, in their order.
    var place: Int64 {
        switch work {
        case .change: .min
        case .group(let number, let submission): submission.groups[number].first?.row ?? .min
        }
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
