import CCurl

/// How a transfer deals with its connection, which libcurl chooses.
extension Transfer {
    /// libcurl opens a socket for this hop.
    func opened(_ socket: Int32) {
        exchange.openedSockets.append(socket)
        connections.opened(socket)
    }

    /// Whether the request may be sent over that connection.
    func mayUse(_ remote: UnsafePointer<CChar>, _ ports: Connections.Ports) -> Bool {
        guard let handle else { return false }
        // An old connection may have been opened for a transfer that did not deny private addresses.
        if request.options.denyPrivate, !allows(IPAddress(String(cString: remote))) { return false }
        if handle.wantsCertificate { host?.wantsCertificate = true }
        exchange.isMultiplexed = kf_easy_is_multiplexed(handle.pointer)
        exchange.hasConnection = true
        exchange.connection = connections.find(remote, ports)
        guard let known = exchange.connection else {
            exchange.connection = connections.name(remote, ports, among: exchange.openedSockets)
            return true
        }
        // Frames of HTTP/2 may come at any time. Of HTTP/1, libcurl 7.88 would take any input for the response.
        guard !exchange.isMultiplexed, let host else { return true }
        let input = kf_easy_input(handle.pointer, known.socket)
        if input == KF_INPUT_BYTES { host.sendsExcess = true }
        let hasRested = known.idleSince.advanced(nanoseconds: Scheduler.observationSpan) <= notes.now
        if input == KF_INPUT_NONE, hasRested { host.isProven = true }
        exchange.refusedConnection = input != KF_INPUT_NONE || !host.isProven
        return !exchange.refusedConnection
    }

    /// Decides, at the end of a head, whether the connection can be used again after the body.
    func settleConnection(status: StatusLine, fields: HeaderFields) {
        guard let handle, let host else { return }
        if host.sendsExcess || !connections.keeps(waiting: host.waiting) { return handle.closeAfterwards() }
        guard !exchange.isMultiplexed else { return }
        if status.hasNoBody || (fields.plainNumber(.contentLength) ?? 0) == 0 { handle.closeOnExcess() }
        exchange.offersConnection =
            status.protocolName == "HTTP/1.1" && (status.hasNoBody || fields.delimitBody)
            && !fields.contains(.connection, letters: "close")
    }

    /// The transfer is over. Whether the connection, which could be used again, was kept, or closed because it held more
    /// than the response; nil where neither can be told.
    func leaveConnection() -> Bool? {
        guard endedCleanly, exchange.offersConnection, exchange.hasConnection else { return nil }
        guard let connection = exchange.connection, connection.isOpen else { return false }
        connection.idleSince = notes.now
        return true
    }

    /// Whether the hop failed because its connection ended before the response began, so that another connection may
    /// do. A connection that was opened for this hop counts only when it is HTTP/2: a server that ends one refuses the
    /// streams it has not begun to process.
    func lostConnection(_ code: CURLcode, facts: kf_easy_facts) -> Bool {
        if exchange.refusedConnection { return code == CURLE_ABORTED_BY_CALLBACK }
        guard exchange.phase == .connecting, exchange.isMultiplexed || facts.new_connections == 0 else { return false }
        switch code {
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2, CURLE_HTTP2_STREAM: return true
        default: return false
        }
    }
}
