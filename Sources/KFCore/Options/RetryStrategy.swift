import KFNetwork
import KFStorage
import Synchronization

/// What a strategy knows when it decides. Kingfisher's `RetryContext`.
public struct RetryContext: Sendable {
    /// What was asked.
    public let source: Source
    /// Why it failed this time.
    public let error: KingfisherError
    /// How often was tried again already.
    public let retriedCount: Int
    /// What the strategy wants to remember from one decision to the next.
    public let userInfo: RetryUserInfo

    /// A context as the manager makes it.
    public init(source: Source, error: KingfisherError, retriedCount: Int, userInfo: RetryUserInfo = RetryUserInfo()) {
        self.source = source
        self.error = error
        self.retriedCount = retriedCount
        self.userInfo = userInfo
    }
}

/// One value that a strategy may set, and finds again when the same retrieval has failed once more.
public final class RetryUserInfo: Sendable {
    private let stored = Mutex<(any Sendable)?>(nil)

    /// Begins with nothing.
    public init() {}

    /// Nil until the strategy sets it. Safe from any thread.
    public var value: (any Sendable)? {
        get { stored.withLock { $0 } }
        set { stored.withLock { $0 = newValue } }
    }
}

/// What a strategy decides.
public enum RetryDecision: Sendable, Equatable {
    /// Again, after this span.
    case retry(after: Duration)
    /// The error is final.
    case stop
}

/// Decides whether a failed retrieval is tried again. Kingfisher's `RetryStrategy`; a cancellation never reaches it.
public protocol RetryStrategy: Sendable {
    /// Called after each failure. It may wait, for a new token or for the network to come back: the retrieval waits with it,
    /// holds no connection meanwhile, and cancels the task when it is cancelled itself. It must not block.
    func decide(_ context: RetryContext) async -> RetryDecision
}

/// Tries again at most `maxRetryCount` times, when that can help: transfers that broke, 408, 425, 429 and 5xx.
public struct DelayRetryStrategy: RetryStrategy {
    /// How long to wait before another try.
    public enum Interval: Sendable {
        /// The same span each time, in seconds.
        case seconds(Double)
        /// (count + 1) × the span.
        case accumulated(Double)
        /// The span, doubled each time, and of that a random part between a half and the whole, at most 60 s.
        case exponential(Double)
        /// What the closure says, in seconds; the count begins with 0.
        case custom(@Sendable (_ retriedCount: Int) -> Double)

        func delay(retriedCount count: Int) -> Duration {
            switch self {
            case .seconds(let seconds): .seconds(seconds)
            case .accumulated(let seconds): .seconds(Double(count + 1) * seconds)
            case .exponential(let seconds):
                .seconds(min(60, seconds * Double(1 << min(count, 30))) * Double.random(in: 0.5...1))
            case .custom(let delay): .seconds(delay(count))
            }
        }
    }

    /// Tries after the first.
    public let maxRetryCount: Int
    /// How long to wait before each.
    public let retryInterval: Interval

    /// Waits 3 s before each try unless told otherwise.
    public init(maxRetryCount: Int, retryInterval: Interval = .seconds(3)) {
        self.maxRetryCount = maxRetryCount
        self.retryInterval = retryInterval
    }

    public func decide(_ context: RetryContext) -> RetryDecision {
        guard context.retriedCount < maxRetryCount, Self.canHelp(context.error) else { return .stop }
        return .retry(after: retryInterval.delay(retriedCount: context.retriedCount))
    }

    static func canHelp(_ error: KingfisherError) -> Bool {
        guard case .responseError(let reason) = error else { return false }
        switch reason {
        case .invalidHTTPStatusCode(let status):
            return TransferError.isTransient(status)
        case .transferError(_, _, let isTransient), .invalidURLResponse(_, let isTransient): return isTransient
        case .noURLResponse: return true
        default: return false
        }
    }
}

extension KingfisherError {
    /// The origin could not be asked or could not answer: an expired image may serve instead.
    var isOriginUnavailable: Bool {
        if case .responseError(reason: .circuitOpen) = self { return true }
        return DelayRetryStrategy.canHelp(self)
    }
}
