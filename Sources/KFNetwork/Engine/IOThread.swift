import Glibc

/// A thread of our own: the loop blocks in a poll, which no thread of the cooperative pool may do.
struct IOThread: Sendable {
    private final class Box {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private let id: pthread_t

    /// Throws the errno of pthread_create. The thread takes no signals: they belong to the main thread, and a SIGPIPE
    /// from a socket becomes EPIPE, because libcurl leaves that signal alone under NOSIGNAL.
    static func start(_ body: @escaping @Sendable () -> Void) throws(TransferError) -> IOThread {
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        let box = Unmanaged.passRetained(Box(body))
        var id = pthread_t()
        let code = pthread_create(
            &id, nil,
            { context in
                Unmanaged<Box>.fromOpaque(context!).takeRetainedValue().body()
                return nil
            }, box.toOpaque())
        guard code == 0 else {
            box.release()
            throw .engine(detail: "no thread: \(String(cString: strerror(code)))")
        }
        return IOThread(id: id)
    }

    var isCurrent: Bool { pthread_equal(id, pthread_self()) != 0 }

    func join() { pthread_join(id, nil) }

    func detach() { pthread_detach(id) }
}
