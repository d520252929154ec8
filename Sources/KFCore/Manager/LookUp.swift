/// What the caches have.
enum LookUp: Sendable {
    case found(RetrieveImageResult)
    /// A fresh original that the image can be made from.
    case derivable(FoundFile)
    /// The server has said that there is no image, and until when that holds.
    case refused(KingfisherError)
    /// Nothing that can be used as it is; perhaps something whose time is over. With the commits of other processes at
    /// that time, if the disk was looked at.
    case missing(FoundFile?, commitsSeen: Int64?)
}
