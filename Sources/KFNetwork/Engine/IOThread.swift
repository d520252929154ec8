import Glibc

/// A POSIX thread for the loop, which blocks while it waits for sockets and so must not run on the cooperative pool.
struct IOThread: Sendable {
    private final class Box {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private let id: pthread_t

    /// Starts a thread with all signals blocked; throws if `pthread_create` fails.
    ///
    /// Signals are for the main thread. With SIGPIPE blocked, writing to a closed socket fails with EPIPE; libcurl does
    /// not handle that signal under CURLOPT_NOSIGNAL.
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
            throw .engine(detail: "could not start a thread: \(String(cString: strerror(code)))")
        }
        return IOThread(id: id)
    }

    var isCurrent: Bool { pthread_equal(id, pthread_self()) != 0 }

    func join() { pthread_join(id, nil) }

    func detach() { pthread_detach(id) }
}
