/// Something that ends with an image, or with the reason why there is none.
protocol EndingJob: AnyObject, Sendable {
    var recipient: any ImageRecipient { get }
    /// Its place among those of its recipient.
    var number: Int { get }
    /// Requests made.
    var attempts: Int { get }
    /// True for the first who asks: the recipient is to be told by that one.
    func end() -> Bool
}

/// Is told how images ended that it waits for.
protocol ImageRecipient: AnyObject, Sendable {
    /// Several at a time. Called from any thread, and must not block.
    func take(_ ended: [EndedImage])
}

/// How one image ended.
struct EndedImage: Sendable {
    let job: any EndingJob
    let result: Result<RetrieveImageResult, KingfisherError>
}

/// Outcomes on their way to those who wait for them, handed over in arrays.
struct Deliveries {
    private var ended: [EndedImage] = []
    /// Those that are tried again. They rest once all who shared their work have been told, so that they rest together.
    private var rests: [(queue: RestQueue, wish: RestQueue.Wish)] = []

    var isEmpty: Bool { ended.isEmpty && rests.isEmpty }

    mutating func rest(in queue: RestQueue, _ wish: RestQueue.Wish) { rests.append((queue, wish)) }

    /// The first outcome of a job counts.
    mutating func add(_ job: any EndingJob, _ result: Result<RetrieveImageResult, KingfisherError>) {
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
