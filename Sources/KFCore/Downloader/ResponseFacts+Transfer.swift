import KFNetwork

extension ResponseFacts {
    /// The header fields that RFC 9111 decides by.
    private static let kept = ["cache-control", "expires", "date", "age", "vary"]

    init(_ head: ResponseHead, _ transfer: TransferMetrics = TransferMetrics()) {
        let headers = head.headers
        status = head.status
        fields = headers
        etag = headers["etag"]
        lastModified = headers["last-modified"]
        freshness = HeaderLines(Self.kept.flatMap { name in headers.all(name).map { (name, $0) } })
            .of(status: head.status)
        encoding = headers["content-encoding"]
        var metrics = DownloadMetrics()
        metrics.dns = transfer.dns
        metrics.connect = transfer.connect
        metrics.tls = transfer.tls
        metrics.firstByte = transfer.firstByte
        metrics.total = transfer.total
        metrics.receivedBytes = transfer.receivedBytes
        metrics.protocolName = transfer.protocolName
        metrics.remoteAddress = transfer.remoteAddress
        metrics.redirects = transfer.redirects
        self.metrics = metrics
    }
}
