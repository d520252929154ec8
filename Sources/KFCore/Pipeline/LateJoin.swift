/// Takes what work has delivered already.
final class LateJoin: StoreWork {
    private let waiter: any WorkWaiter
    private let answer: WorkAnswer

    init(_ waiter: any WorkWaiter, _ answer: WorkAnswer) {
        self.waiter = waiter
        self.answer = answer
    }

    func run(in batch: StoreBatch) { waiter.take(answer, in: batch) }
}
