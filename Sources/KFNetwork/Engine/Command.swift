/// What other threads want of the loop.
enum Command: Sendable {
    case start([TransferStart])
    case cancel(UInt64)
    case prioritize(UInt64, Float)
    /// The control of the transfer is no longer paused.
    case resume(UInt64)
    /// What the transfer's question number so-and-so came to.
    case decide(UInt64, question: Int, Decision)
    /// Which of the transfers start, in the order of the questions.
    case admit([Admissions.Asked], [Bool])
    case pause(host: String, until: MonotonicTime)
    /// Whether nothing new starts for now.
    case hold(Bool)
    /// From now on nothing starts; what runs goes on.
    case drain
    case stop
}
