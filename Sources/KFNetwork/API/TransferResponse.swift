/// A transfer that ended well; its body went to the sink.
package struct TransferResponse: Sendable {
    package let head: ResponseHead
    package let metrics: TransferMetrics

    package init(head: ResponseHead, metrics: TransferMetrics) {
        self.head = head
        self.metrics = metrics
    }
}
