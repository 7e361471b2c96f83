package v1alpha1

// Labels of the objects. A value that is no valid label value (a user name with an
// "@") is left out; field selectors find it all the same.
//
// The server knows more of LabelPartition, LabelState and LabelNode than the one value
// that is printed: a job that waits for "cpu,gpu" is found by -l partition=cpu and by
// -l partition=gpu, a node that is IDLE+DRAIN by state=drained, state=idle and
// state=drain, a job on many nodes by each of them. State is compared without regard
// to case.
const (
	// LabelCluster is the name of the Controller or Cluster.
	LabelCluster = "cluster"
	// LabelPartition is the job's or node's first partition, or the partition itself.
	LabelPartition = "partition"
	// LabelState is the base state of a job or partition ("PENDING", "UP") and the word
	// that sinfo shows for a node ("idle").
	LabelState = "state"
	// LabelUser and LabelAccount are those of a job.
	LabelUser    = "user"
	LabelAccount = "account"
	// LabelNode is the node itself, or the node of a job that has one alone.
	LabelNode = "node"
	// PartitionPrefix and the name of a partition make the key of a label with the value
	// "true": there is one for every partition that the job may run in or the node is in.
	PartitionPrefix = "partition.view.slinky.slurm.net/"
)

// Field selectors beside metadata.name and metadata.namespace. They take any value,
// also one that is no valid label value, and match as the labels of the same meaning do.
const (
	FieldCluster    = "spec.cluster.name"
	FieldPartition  = "spec.partition" // jobs and nodes: any of spec.partitions
	FieldState      = "status.state"
	FieldUser       = "spec.user"       // jobs
	FieldAccount    = "spec.account"    // jobs
	FieldNode       = "status.node"     // jobs: any of status.nodes
	FieldName       = "spec.name"       // nodes and partitions: Slurm's name; jobs: the job's name
	FieldJobID      = "spec.jobID"      // jobs
	FieldArrayJobID = "spec.arrayJobID" // jobs
)

// AnnotationPrivateData on a Controller or Cluster is the value of PrivateData in
// that cluster's slurm.conf, such as "jobs,nodes", or "none". Administrators set it
// where the adapter cannot know it; it wins over what slurmctld tells.
const AnnotationPrivateData = "view.slinky.slurm.net/private-data"

// VerbViewAll on a resource of this group is the right to see what PrivateData keeps
// for its owner. The name of the cluster's object is the resourceName.
const VerbViewAll = "viewall"
