/// The end of one transfer.
package struct EndedTransfer: Sendable {
    package let id: UInt64
    /// The token that the transfer was started with.
    package let token: any AnyObject & Sendable
    package let result: Result<TransferResponse, TransferError>

    package init(id: UInt64, token: any AnyObject & Sendable, result: Result<TransferResponse, TransferError>) {
        self.id = id
        self.token = token
        self.result = result
    }
}
