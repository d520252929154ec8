import Dispatch
import KFStorage
import KFSystem

/// Where completion handlers are called. Kingfisher's `CallbackQueue`.
public enum CallbackQueue: Sendable {
    /// On the main queue, later.
    case mainAsync
    /// On the main thread: at once when that is where the result came, else later.
    case mainCurrentOrAsync
    /// Wherever the result came.
    case untouch
    /// On this queue, later.
    case dispatch(DispatchQueue)

    /// Calls `block` there.
    public func execute(_ block: @escaping @Sendable () -> Void) {
        switch self {
        case .mainAsync: DispatchQueue.main.async(execute: block)
        case .mainCurrentOrAsync:
            if ProcessState.isMainThread { block() } else { DispatchQueue.main.async(execute: block) }
        case .untouch: block()
        case .dispatch(let queue): queue.async(execute: block)
        }
    }
}
