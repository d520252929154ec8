extension KingfisherOptions {
    /// The options with a handler that is told of progress where callbacks are called.
    func reporting(to handler: ProgressHandler?) -> KingfisherOptions {
        guard let handler else { return self }
        var options = self
        options.progress = { [queue = callbackQueue] received, total in queue.execute { handler(received, total) } }
        return options
    }
}
