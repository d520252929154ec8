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
    case admit([AdmissionQuestion], [Bool])
    case pause(host: String, until: MonotonicTime)
    /// Whether nothing new starts for now.
    case hold(Bool)
    /// From now on nothing starts; what runs goes on.
    case drain
    case stop
}

/// One transfer's question whether its hop starts.
struct AdmissionQuestion: Sendable {
    let transfer: UInt64
    let question: Int
}
