/// A recipient of ended images.
protocol ImageRecipient: AnyObject, Sendable {
    /// Takes several ended images at once. Called from any thread; must not block.
    func take(_ ended: [EndedImage])
}

/// The end of one image: its job and its result.
struct EndedImage: Sendable {
    let job: ImageJob
    let result: Result<RetrieveImageResult, KingfisherError>
}

/// The outcomes of a stage, handed to their recipients in arrays.
struct Deliveries {
    private var ended: [EndedImage] = []
    /// The retries. They begin to wait when all jobs with the same work have been notified, so that they wait together.
    private var rests: [(queue: RestQueue, wish: RestQueue.Wish)] = []

    var isEmpty: Bool { ended.isEmpty && rests.isEmpty }

    mutating func rest(in queue: RestQueue, _ wish: RestQueue.Wish) { rests.append((queue, wish)) }

    /// Adds an outcome, unless the job already has one.
    mutating func add(_ job: ImageJob, _ result: Result<RetrieveImageResult, KingfisherError>) {
        if job.end() { ended.append(EndedImage(job: job, result: result)) }
    }

    mutating func flush() {
        var resting = rests[...]
        rests = []
        while let queue = resting.first?.queue {
            let mine = resting.prefix { $0.queue === queue }
            resting = resting.dropFirst(mine.count)
            queue.rest(mine.map(\.wish))
        }
        var rest = ended[...]
        ended = []
        while let recipient = rest.first?.job.recipient {
            let mine = rest.prefix { $0.job.recipient === recipient }
            rest = rest.dropFirst(mine.count)
            recipient.take(Array(mine))
        }
    }
}
