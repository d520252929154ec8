import CCurl

/// The sending of the request's body.
extension Transfer {
    /// Copies the next bytes of the body to libcurl's buffer. Returns nil to end the hop.
    func supplyBody(_ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard let body = request.body else { return 0 }
        do throws(TransferError) {
            let count = try body.read(from: exchange.taken, into: buffer)
            exchange.taken += Int64(count)
            exchange.progress(count, notes: notes)
            request.hooks.sent?()
            return count
        } catch {
            exchange.cause = error
            return nil
        }
    }

    /// Continues the body at an offset. Returns false for one outside the body.
    func seekBody(to offset: Int64) -> Bool {
        guard 0...(request.body?.size ?? 0) ~= offset else { return false }
        exchange.taken = offset
        return true
    }

    /// Returns whether the server has acknowledged 1 KiB of the request since the last call, and restarts the stall
    /// timer then.
    ///
    /// libcurl takes the body in pieces of 64 KiB, and the kernel buffers megabytes: over a slow line both wait for
    /// longer than a timeout.
    func uploadMoves() -> Bool {
        // An interim response, such as 100, begins a head before the body is sent.
        guard exchange.phase == .connecting || exchange.phase == .head else { return false }
        guard request.body != nil, exchange.requests > 0, let handle else { return false }
        // The send queue of an HTTP/2 connection holds bytes of other transfers, too.
        let socket = exchange.isMultiplexed ? nil : exchange.connection?.socket
        let acknowledged = handle.acknowledged(on: socket)
        guard acknowledged - exchange.acknowledged >= ProgressWindow.quota else { return false }
        exchange.acknowledged = acknowledged
        exchange.restartWindow(timeout: request.terms.timeoutSpan, now: notes.now)
        return true
    }
}
